"""The shop's own pages."""

from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.urls import path


def home(request):
    return HttpResponse(f"The shop of {request.user.get_username() or 'nobody yet'}")


urlpatterns = [path("", home), path("login/", LoginView.as_view())]
